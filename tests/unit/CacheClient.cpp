// One process of the cache tests: cache_client DIRECTORY TARGET VARIANTS
//
// Waits for a line on stdin, so that many can start at once; runs that many variants of a kernel through the cache and
// prints, for each, its key and where it came from. Exits 1 when a result is wrong or something was logged.
#include "tests/support/RuntimeKernels.h"

#include <cstdio>
#include <cstdlib>
#include <string>

using namespace sectile;
using namespace sectile::test;

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  bool right = true;
  Options options;
  options.cache = argv[1];
  options.target = argv[2];
  options.threads = 1;
  options.log = [&](int, const std::string &line) {
    std::fprintf(stderr, "%s\n", line.c_str());
    right = false;
  };
  std::printf("ready\n");
  std::fflush(stdout);
  while (std::getchar() != '\n')
    ;
  try {
    Session session(options);
    for (int variant = 1; variant <= std::atoi(argv[3]); ++variant) {
      float x[4] = {1, 2, 3, 4}, y[4] = {};
      session.launch(Stream::host(), scaleKernel, {variant, 0}, {4},
                     {ArrayView(x, Type::f32, {4}), ArrayView(y, Type::f32, {4}), 2.0f});
      right = right && y[0] == 2 && y[3] == 8;
    }
    static constexpr const char *sources[] = {"memory", "disk", "compiled"};
    for (const LaunchRecord &record : session.history())
      std::printf("%s %s\n", record.key.c_str(), sources[static_cast<int>(record.source)]);
  } catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return right ? 0 : 1;
}
