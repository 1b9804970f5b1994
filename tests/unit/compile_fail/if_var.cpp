// Its value is not known while tracing.
#include "sectile/Trace.h"

void kernel(sectile::Trace &t) {
  sectile::tile::Var var = t.full(0, {4});
  if (var) // ERROR: deleted
    return;
}
