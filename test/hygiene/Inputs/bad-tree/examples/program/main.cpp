#include "Beside.h"
#include "Absent.h"
#include "runtime/Backend.h"
