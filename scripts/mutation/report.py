"""Results of a mutation test as JSON and Markdown."""
import json
import os


def line_number(site):
    return site.text.count("\n", 0, site.begin) + 1


def describe(number, path, site):
    return {"id": number, "file": path, "line": line_number(site), "operator": site.operator,
            "original": site.original, "mutated": site.mutated}


def line(number, path, at, operator, original, mutated):
    return f"{number:4} {path}:{at} {operator}: {original} -> {mutated}"


def effect(result):
    """output: kernels or their results change; ptx: code of the GPU alone, made behind what
    the host device runs; diagnosis: only what a test of errors sees; none."""
    if result["results_change"]:
        return "output"
    if result["text_changes"]:
        return "ptx" if result["file"].startswith("lib/Codegen/") else "output"
    return "diagnosis" if result["lit"] or result["host_tests"] else "none"


def found(entry):
    return f"{entry['test'].split(':')[0]} ({entry['how']})" if entry else "-"


def one(result):
    return (f"{result['id']:4} {result['file']}:{result['line']} {result['operator']}: effect {effect(result)}, numerics "
            f"{found(result['numerics'])}, lit {found(result['lit'])}"
            + (f", host tests {found(result['host_tests'])}" if result["host_tests"] else "") + f", {result['seconds']} s")


def keep_results(folder, done):
    with open(os.path.join(folder, "results.json"), "w") as file:
        json.dump(list(done.values()), file)


def load_results(folder, faults):
    """Results of before of the same faults."""
    try:
        with open(os.path.join(folder, "results.json")) as file:
            saved = json.load(file)
    except FileNotFoundError:
        return {}
    return {r["id"]: r for r in saved
            if r["id"] in faults and all(r[key] == value for key, value in faults[r["id"]].items())}


def explanations(root):
    """{(file, original, mutated): why no test finds it}."""
    with open(os.path.join(root, "scripts/mutation/explained.json")) as file:
        return {(e["file"], e["original"], e["mutated"]): e["why"] for e in json.load(file)}


def share(part, whole):
    return f"{part} of {whole}" + (f" ({part / whole:.2f})" if whole else "")


def score(results):
    """Counts: faults that change output, of them found by numerics; faults that change anything, of them found by lit."""
    output = [r for r in results if effect(r) == "output"]
    seen = [r for r in results if effect(r) != "none"]
    return {"faults": len(results), "output": len(output), "ptx": sum(effect(r) == "ptx" for r in results), "numerics": sum(bool(r["numerics"]) for r in output),
            "changes": len(seen), "lit": sum(bool(r["lit"]) for r in seen),
            "lit_or_host_tests": sum(bool(r["lit"] or r["host_tests"]) for r in seen)}


def cell(text):
    return text.replace("|", "\\|")


def markdown(root, seed, results, refused):
    total, why = score(results), explanations(root)
    rows = [f"# Mutation test\n\nSeed {seed}: {len(results)} faults; {refused} others drawn before did not compile.\n",
            f"- Kernels or their results change: {total['output']}; numerics alone find "
            f"{share(total['numerics'], total['output'])}.",
            f"- Only the PTX changes, behind what the host device runs: {total['ptx']}, which numerics there cannot find.",
            f"- Anything changes, also what is refused or reported: {total['changes']}; lit finds "
            f"{share(total['lit'], total['changes'])}, with the tests of the host device "
            f"{share(total['lit_or_host_tests'], total['changes'])}.",
            f"- Nothing changes: {total['faults'] - total['changes']}.\n"]
    for key in ["file", "operator"]:
        groups = {}
        for result in results:
            groups.setdefault(os.path.dirname(result["file"]) if key == "file" else result["operator"], []).append(result)
        rows.append(f"| {'folder' if key == 'file' else key} | faults | output changes | numerics | anything changes | lit |\n"
                    "|---|--:|--:|--:|--:|--:|")
        for name, members in sorted(groups.items()):
            part = score(members)
            rows.append(f"| {name} | {part['faults']} | {part['output']} | {part['numerics']} | {part['changes']} | {part['lit']} |")
        rows.append("")
    rows.append("| | place | operator | original | mutated | effect | numerics | lit | host tests |\n|--:|---|---|---|---|---|---|---|---|")
    for r in results:
        rows.append(f"| {r['id']} | {r['file']}:{r['line']} | {r['operator']} | `{cell(r['original'])}` | `{cell(r['mutated'])}` | "
                    f"{effect(r)} | {found(r['numerics'])} | {found(r['lit'])} | {found(r['host_tests'])} |")
    rows.append("\n## Not found\n")
    for r in results:
        missed = [name for name, entry in [("numerics", r["numerics"] or effect(r) != "output"), ("lit", r["lit"])] if not entry]
        if missed:
            rows.append(f"- {line(r['id'], r['file'], r['line'], r['operator'], '`' + r['original'] + '`', '`' + r['mutated'] + '`').strip()}"
                        f" (effect {effect(r)}; not by {' and '.join(missed)}): "
                        + why.get((r["file"], r["original"], r["mutated"]), "not explained"))
    return "\n".join(rows) + "\n"


def write(root, folder, seed, results, refused):
    """Writes both files; 0 where the goals are met."""
    total = score(results)
    with open(os.path.join(folder, "report.json"), "w") as file:
        json.dump({"seed": seed, "refused": refused, "score": total,
                   "faults": [{**r, "effect": effect(r)} for r in results]}, file, indent=1)
    with open(os.path.join(folder, "report.md"), "w") as file:
        file.write(markdown(root, seed, results, refused))
    print(f"numerics {share(total['numerics'], total['output'])}, lit {share(total['lit'], total['changes'])}, lit and host tests "
          f"{share(total['lit_or_host_tests'], total['changes'])}; {os.path.join(folder, 'report.md')}")
    return 0 if total["numerics"] >= 0.9 * total["output"] and total["lit_or_host_tests"] == total["changes"] else 1
