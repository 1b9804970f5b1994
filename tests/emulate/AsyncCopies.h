// The asynchronous copies that a thread has begun, as late as they may be: their bytes arrive when the thread waits for
// them, never if it does not, and until then the place that they go to holds NaN. So a reader that comes too early is
// seen, and so is a copy that begins while its place is still read.
#pragma once

#include <cstring>
#include <vector>

namespace sectile::warps {

class AsyncCopies {
public:
  /// 16 bytes, of which those past `bytes` are 0.
  void begin(char *to, const char *from, size_t bytes) {
    std::memset(to, 0xff, size);
    open.push_back({to, from, bytes});
  }
  void commit() {
    groups.push_back(std::move(open));
    open.clear();
  }
  /// Until at most so many groups, the last ones, are on their way.
  void wait(size_t pending) {
    const size_t complete = groups.size() > pending ? groups.size() - pending : 0;
    for (size_t i = 0; i < complete; ++i)
      arrive(groups[i]);
    groups.erase(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(complete));
  }

private:
  static constexpr size_t size = 16;
  struct Copy {
    char *to;
    const char *from;
    size_t bytes;
  };
  static void arrive(const std::vector<Copy> &copies) {
    for (const Copy &copy : copies) {
      std::memset(copy.to, 0, size);
      std::memcpy(copy.to, copy.from, copy.bytes);
    }
  }
  std::vector<Copy> open;
  std::vector<std::vector<Copy>> groups;
};

} // namespace sectile::warps
