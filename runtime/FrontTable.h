// The map from front keys to compiled kernels: read by every launch without a lock, written once a compilation.
//
// An open-addressing table of pointers to nodes. Nodes never change and live as long as the table. When a table fills
// up, a larger one takes its place; readers that still walk the old one see a consistent, at worst outdated, map and
// find the rest on the slow path.
#pragma once

#include "runtime/FrontKey.h"
#include "runtime/LoadedKernel.h"

#include <atomic>
#include <deque>
#include <mutex>

namespace sectile {

class FrontTable {
public:
  FrontTable();

  /// The kernel compiled under this key, or null. Wait-free. The pointer is good for the lifetime of the table.
  const LoadedKernel *find(const FrontKey &key, const char *name) const;
  /// Adds a key; the first of two equal ones stays. Returns what find() returns from now on.
  const LoadedKernel *insert(const FrontKey &key, const char *name, std::shared_ptr<const LoadedKernel> kernel);
  /// Owns what find() returned.
  std::shared_ptr<const LoadedKernel> share(const FrontKey &key, const char *name) const;

  /// Why `key` is not here: what tells it apart from the most similar key of the same kernel.
  std::string whyMissing(const FrontKey &key, const char *name, const std::vector<Parameter> &parameters) const;

private:
  struct Node {
    FrontKey key;
    std::string name;
    std::shared_ptr<const LoadedKernel> kernel;
    bool matches(const FrontKey &other, const char *otherName) const { return key == other && name == otherName; }
  };
  struct Slots {
    explicit Slots(size_t count) : mask(count - 1), nodes(new std::atomic<const Node *>[count]()) {}
    const size_t mask;
    const std::unique_ptr<std::atomic<const Node *>[]> nodes;
  };
  const Node *lookup(const FrontKey &key, const char *name) const;
  static void place(const Slots &slots, const Node &node);

  std::atomic<const Slots *> current;
  mutable std::mutex mutex;                        // of what follows
  std::deque<Node> nodes;                          // at most half as many as the current table has slots
  std::vector<std::unique_ptr<Slots>> generations; // old ones may still be read
};

} // namespace sectile
