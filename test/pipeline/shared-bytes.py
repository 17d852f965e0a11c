"""As many blocks fit as the schedule says from the shared memory of one, for every
legal tiling: none is listed that a later stage refuses."""
import re
import subprocess
import sys

COMMON = "H=1,HV=2,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0"
SPECS = [
    "rule=gdn,phase=packed,K=96,V=80",
    "rule=kda,phase=packed,K=24,V=40",
    "rule=kda,phase=replay,K=64,V=32,L=11",
    "rule=gdn,phase=verify,K=16,V=40,L=11,T_max=3,flush_at=commit,fold=records",
    "rule=gdn,phase=verify,K=40,V=24,L=24,T_max=5,flush_at=verify,fold=replay,state=bf16",
    "rule=kda,phase=verify,K=256,V=16,L=24,T_max=2,flush_at=commit,fold=records",
    "rule=kda,phase=verify,K=40,V=24,L=16,T_max=8,T=7,flush_at=verify,fold=records",
    "rule=kda,phase=verify,K=24,V=40,L=9,T_max=9,flush_at=every_commit,fold=replay,window=tree",
    "rule=kda,phase=verify,K=256,V=8,L=16,T_max=16,flush_at=every_commit,fold=records",
    "rule=kda,phase=verify,K=256,V=16,L=64,T_max=16,flush_at=commit,fold=records,window=tree",
]
REMARK = re.compile(r"tiling #replay\.tiling(<[^>]*>): \d+ registers, (\d+) bytes shared")


def main(compiler):
    def call(*args, text=None):
        result = subprocess.run([compiler, *args], input=text, capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"failed: {' '.join(args)}\n{result.stderr}")
        return result

    for spec in SPECS:
        fused = call("--emit=mlir", "--stop-after=fuse", f"--spec={spec},{COMMON}").stdout
        listed = REMARK.findall(call("-replay-schedule=print-candidates=true", text=fused).stderr)
        remarks = [(tiling, said) for tiling, said in listed if "blocks" not in tiling] # they change no byte
        # One module with a kernel for each tiling.
        begin, end = fused.index("replay.kernel"), fused.rindex("}")
        head, body = fused[begin:end].split(" attributes ", 1)
        name = re.match(r"replay\.kernel @(\w+)", head).group(1)
        kernels = [f"{head.replace(name, f'k{i}', 1)} tiling {tiling} attributes {body}"
                   for i, (tiling, _) in enumerate(remarks)]
        tiled = call("-replay-tile", text="module {\n" + "".join(kernels) + "}\n").stdout
        taken = re.findall(r"gpu\.func @k(\d+)\(.*sharedBytes = (\d+)", tiled)
        if not remarks or len(taken) != len(remarks):
            sys.exit(f"{spec}: {len(remarks)} tilings but {len(taken)} kernels")
        for index, given in taken:
            tiling, said = remarks[int(index)]
            # Of an sm_90; bytes are left free where no block makes way for them.
            blocks, expected = (228 * 1024 // (int(bytes) + 1024) for bytes in (given, said))
            threads = 32 * int(re.search(r"warps = (\d+)", tiling).group(1))
            if blocks < min(expected, 32, 2048 // threads):
                sys.exit(f"{spec}: {tiling} was said to take {said} bytes but takes {given}")
    print(f"{len(SPECS)} kernels ok")


main(sys.argv[1])
