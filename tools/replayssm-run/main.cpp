// replayssm-run: check | bench | demo a kernel on a device.
#include "tools/replayssm-run/Commands.h"

int main(int argc, char **argv) { return replayssm::run::runMain(argc, argv); }
