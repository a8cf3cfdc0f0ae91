// The variables that crash code starts from.
#include "CSignalSafe.h"

_Atomic(void *) pm_state_storage = 0;
_Atomic(void *) pm_first_chance_storage = 0;
