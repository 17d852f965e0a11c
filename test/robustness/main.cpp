// replayssm-robustness: no input, and no order of passes, may bring the compiler down.
#include "Commands.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace robustness;

static const char usage[] =
    R"(usage: replayssm-robustness <command> --root=<folder of the project> [options]

commands
  passes   every pass alone on every example, on what each stage leaves of it and on every test; every pair
           of passes on the examples and on what stages leave of them
  fuzz     mutated sources and random specs through the compiler and through pipelines of random passes
  specs    prints small legal specs, one a line

options
  --all                  passes: also every pair on every test, and on what stages leave of it
  --files=<n>            fuzz: mutated sources (100)
  --specs=<n>            fuzz, specs: how many (100)
  --seed=<n>             fuzz, specs: of all that is random (1)
  --jobs=<n>             processes (2)
  --case=<n>             this case alone, in this process; --print shows its source
A crash, more than 10 s of processor time, a failure without a message and invalid IR behind a pass are faults.
)";

int main(int argc, char **argv) {
  Options options;
  for (int i = 2; i < argc; ++i) {
    const char *argument = argv[i], *value = std::strchr(argument, '=');
    std::string name(argument, value ? value - argument : std::strlen(argument));
    auto number = [&] { return std::strtoull(value ? value + 1 : "", nullptr, 10); };
    if (name == "--root" && value)
      options.root = value + 1;
    else if (name == "--all")
      options.all = true;
    else if (name == "--print")
      options.print = true;
    else if (name == "--files")
      options.files = number();
    else if (name == "--specs")
      options.specs = number();
    else if (name == "--seed")
      options.seed = number();
    else if (name == "--jobs")
      options.jobs = number();
    else if (name == "--case")
      options.only = number();
    else
      return std::fprintf(stderr, "unknown option '%s'\n%s", argument, usage), 2;
  }
  std::string command = argc > 1 ? argv[1] : "";
  if (command == "specs") {
    for (size_t index = 0; index < options.specs; ++index) {
      Random random(options.seed, index);
      std::printf("%s\n", smallSpec(random).c_str());
    }
    return 0;
  }
  if (options.root.empty() || (command != "passes" && command != "fuzz"))
    return std::fputs(usage, stderr), 2;
  return command == "passes" ? runPasses(options) : runFuzz(options);
}
