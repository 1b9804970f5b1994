// Small kernels for the tests of the runtime.
#pragma once

#include "sectile/Session.h"

namespace sectile::test {

struct ScaleConfig {
  int32_t tile;
  int32_t fail; ///< not 0: breaks a rule of the language
};

/// y = factor * x, `tile` elements a program.
inline void traceScale(Trace &t, const ScaleConfig &config) {
  const tile::View x = t.input("x", Type::f32, 1), y = t.output("y", Type::f32, 1);
  const tile::Tile factor = t.scalar("factor");
  const tile::Tile at = t.program(0) * config.tile;
  const tile::Tile value = x.load({at}, {config.tile});
  if (config.fail)
    dot(value, value);
  y.store({at}, value * factor);
}
inline constexpr Kernel<ScaleConfig> scaleKernel{"scale", traceScale};

struct CopyConfig {
  Type type;
};

/// y = x, 4 elements a program.
inline void traceCopy(Trace &t, const CopyConfig &config) {
  const tile::View x = t.input("x", config.type, 1), y = t.output("y", config.type, 1);
  const tile::Tile at = t.program(0) * 4;
  y.store({at}, x.load({at}, {4}));
}
inline constexpr Kernel<CopyConfig> copyKernel{"copy", traceCopy};

struct LiteralConfig {
  float factor; ///< becomes a literal
  int64_t tile;
};

/// y = factor * x, as a kernel should not be written.
inline void traceLiteral(Trace &t, const LiteralConfig &config) {
  const tile::View x = t.input("x", Type::f32, 1), y = t.output("y", Type::f32, 1);
  const tile::Tile at = t.program(0) * config.tile;
  y.store({at}, x.load({at}, {config.tile}) * config.factor);
}
inline constexpr Kernel<LiteralConfig> literalKernel{"literal", traceLiteral};

struct NoConfig {};

/// out[z, y, x] = 100 z + 10 y + x, one element a program.
inline void traceProgram(Trace &t, const NoConfig &) {
  const tile::View out = t.output("out", Type::i32, 3);
  const tile::Tile x = t.program(0), y = t.program(1), z = t.program(2);
  out.store({z, y, x}, broadcast(z * 100 + y * 10 + x, {1}));
}
inline constexpr Kernel<NoConfig> programKernel{"program", traceProgram};

} // namespace sectile::test
