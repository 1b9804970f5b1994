// Its value is not known while tracing.
#include "sectile/Trace.h"

void kernel(sectile::Trace &t) {
  const sectile::tile::Tile tile = t.full(0, {4});
  if (tile < 1) // ERROR: deleted
    return;
}
