#include "mlir/IR/Builders.h"
#include <vector>
