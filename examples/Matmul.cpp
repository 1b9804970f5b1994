// A kernel of your own: c = a b in bf16, with a loop over tiles and an accumulator.
#include "sectile/Session.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::tile;

struct MatmulConfig {
  Type type; // of a and b; c is f32
};

/// One program for each blockM x blockN tile of c.
void matmul(Trace &t, const MatmulConfig &config) {
  const int64_t blockM = t.schedule().blockM, blockN = t.schedule().blockN, blockK = 64;
  const View a = t.input("a", config.type, 2), b = t.input("b", config.type, 2);
  const View c = t.output("c", Type::f32, 2);
  const Tile row0 = t.program(0) * blockM, col0 = t.program(1) * blockN;
  Var sum = t.full(0, {blockM, blockN});
  for (const Tile k0 : t.range(0, a.dim(1), blockK)) // traced once, repeated at run time
    sum = dot(a.load({row0, k0}, {blockM, blockK}), b.load({k0, col0}, {blockK, blockN}), sum);
  c.store({row0, col0}, sum); // reads past the end gave zeros; writes past it are dropped
}

constexpr Kernel<MatmulConfig> kernel{"matmul", matmul};

uint16_t toBf16(float x) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16); } // truncates
float fromBf16(uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }

int main() {
  const int64_t m = 100, n = 70, k = 150;
  std::vector<uint16_t> a(m * k), b(k * n);
  std::vector<float> c(m * n);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = toBf16(std::sin(static_cast<float>(i)));
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = toBf16(std::cos(static_cast<float>(i)));

  Session session(Options::fromEnvironment("cpu"));
  Schedule schedule;
  schedule.blockM = 32;
  schedule.blockN = 32;
  session.launch(Stream::host(), kernel, MatmulConfig{Type::bf16}, Grid{(m + 31) / 32, (n + 31) / 32},
                 {ArrayView(a.data(), Type::bf16, {m, k}), ArrayView(b.data(), Type::bf16, {k, n}),
                  ArrayView(c.data(), Type::f32, {m, n})},
                 schedule);

  double worst = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += static_cast<double>(fromBf16(a[i * k + l])) * fromBf16(b[l * n + j]);
      worst = std::fmax(worst, std::abs(c[i * n + j] - sum));
    }
  const std::string target = session.target().substr(0, session.target().find(":+")); // without the features
  std::printf("matmul on %s: largest error %.2g\n", target.c_str(), worst);
  return worst < 1e-4 ? 0 : 1;
}
