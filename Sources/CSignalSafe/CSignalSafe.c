// The one variable that crash code starts from.
#include "CSignalSafe.h"

_Atomic(void *) pm_state_storage = 0;
