#include "runtime/Backend.h"
