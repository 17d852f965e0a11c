#include "replayssm/Runtime.h"
