// replayssm-opt: the compiler's command line.
#include "replayssm/Compiler.h"

int main(int argc, char **argv) { return replayssm::optMain(argc, argv); }
