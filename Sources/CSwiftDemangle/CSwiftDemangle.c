// A C target needs a source file; everything is in the header.
#include "CSwiftDemangle.h"
