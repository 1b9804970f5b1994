// The positive control: what the other files of this folder do wrong, done right.
#include "sectile/Trace.h"

using namespace sectile::tile;

void kernel(sectile::Trace &t) {
  const Tile tile = t.full(0, {4});
  t.when(t.program(0) < 1, [] {});
  Var first = tile;
  first = tile;
  Var second = Tile(first);
  second = first;
  const Tile chosen = select(tile < 1, tile, second);
  first = chosen;
}
