// Two names for one variable would hide data flow.
#include "sectile/Trace.h"

void kernel(sectile::Trace &t) {
  sectile::tile::Var first = t.full(0, {4});
  sectile::tile::Var second = first; // ERROR: deleted
}
