// A C++ condition specializes the kernel; it is no operand.
#include "sectile/Trace.h"

void kernel(sectile::Trace &t) {
  t.when(true, [] {}); // ERROR: no matching
}
