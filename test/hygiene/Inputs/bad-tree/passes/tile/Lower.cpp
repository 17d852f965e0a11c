#include "lib/Codegen/Emit.h"
