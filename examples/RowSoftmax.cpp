// A kernel of your own: the softmax of each row of a matrix, of any size and strides.
#include "sectile/Session.h"

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::tile;

struct SoftmaxConfig {
  int32_t columns; // a tile holds whole rows: the kernel is specialized for their length
};

/// One program for each block of rows. Runs once, to be traced.
void rowSoftmax(Trace &t, const SoftmaxConfig &c) {
  const View in = t.input("in", Type::f32, 2), out = t.output("out", Type::f32, 2);
  const Tile scale = t.scalar("scale"); // a number known only at run time
  const Tile row0 = t.program(0) * t.schedule().blockM;
  const Tile x = in.load({row0, 0}, {t.schedule().blockM, c.columns}) * scale;
  const Tile weights = exp(x - maxRows(x));         // [rows, columns] - [rows, 1]: broadcasts as numpy does
  out.store({row0, 0}, weights / sumRows(weights)); // rows past the end are dropped
}

constexpr Kernel<SoftmaxConfig> kernel{"row_softmax", rowSoftmax};

int main() {
  const int64_t rows = 1000, columns = 77;
  std::vector<float> in(rows * columns), out(rows * columns);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = 3 * std::sin(static_cast<float>(i));

  Session session(Options::fromEnvironment("cpu")); // the arrays are in host memory
  Schedule schedule;
  schedule.blockM = 8;
  const Grid grid{(rows + schedule.blockM - 1) / schedule.blockM};
  session.launch(
      Stream::host(), kernel, SoftmaxConfig{static_cast<int32_t>(columns)}, grid,
      {ArrayView(in.data(), Type::f32, {rows, columns}), ArrayView(out.data(), Type::f32, {rows, columns}), 0.5f},
      schedule);

  double worst = 0;
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j)
      sum += std::exp(0.5 * in[i * columns + j]);
    for (int64_t j = 0; j < columns; ++j)
      worst = std::fmax(worst, std::abs(out[i * columns + j] - std::exp(0.5 * in[i * columns + j]) / sum));
  }
  const std::string target = session.target().substr(0, session.target().find(":+")); // without the features
  std::printf("row softmax on %s: largest error %.2g\n", target.c_str(), worst);
  return worst < 1e-6 ? 0 : 1;
}
