// && and || would read tiles as C++ conditions.
#include "sectile/Trace.h"

void kernel(sectile::Trace &t) {
  const sectile::tile::Tile tile = t.full(0, {4});
  select(tile < 1 && tile > 0, tile, 0); // ERROR: deleted
}
