// Tiles never change.
#include "sectile/Trace.h"

void kernel(sectile::Trace &t) {
  sectile::tile::Tile tile = t.full(0, {4});
  tile = t.full(1, {4}); // ERROR: deleted
}
