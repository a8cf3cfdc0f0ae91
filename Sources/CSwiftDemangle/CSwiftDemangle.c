// This file is empty because a C target needs a source file; all declarations are in the header.
#include "CSwiftDemangle.h"
