// replayssm-run: check, bench, drift, memory, demo of kernels on a device.
#include "tools/replayssm-run/Commands.h"

int main(int argc, char **argv) { return replayssm::run::runMain(argc, argv); }
