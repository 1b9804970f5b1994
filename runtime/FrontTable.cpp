#include "runtime/FrontTable.h"

#include "llvm/ADT/StringExtras.h"

using namespace sectile;

FrontTable::FrontTable() {
  generations.push_back(std::make_unique<Slots>(64));
  current.store(generations.back().get(), std::memory_order_release);
}

const FrontTable::Node *FrontTable::lookup(const FrontKey &key, const char *name) const {
  const Slots &slots = *current.load(std::memory_order_acquire);
  for (size_t i = key.hash() & slots.mask;; i = (i + 1) & slots.mask) {
    const Node *node = slots.nodes[i].load(std::memory_order_acquire);
    if (!node || node->matches(key, name))
      return node;
  }
}

const LoadedKernel *FrontTable::find(const FrontKey &key, const char *name) const {
  const Node *node = lookup(key, name);
  return node ? node->kernel.get() : nullptr;
}

std::shared_ptr<const LoadedKernel> FrontTable::share(const FrontKey &key, const char *name) const {
  const Node *node = lookup(key, name);
  return node ? node->kernel : nullptr;
}

void FrontTable::place(const Slots &slots, const Node &node) {
  size_t i = node.key.hash() & slots.mask;
  while (slots.nodes[i].load(std::memory_order_relaxed))
    i = (i + 1) & slots.mask;
  slots.nodes[i].store(&node, std::memory_order_release);
}

const LoadedKernel *FrontTable::insert(const FrontKey &key, const char *name,
                                       std::shared_ptr<const LoadedKernel> kernel) {
  std::lock_guard lock(mutex);
  if (const LoadedKernel *present = find(key, name))
    return present;
  const Slots *slots = current.load(std::memory_order_relaxed);
  if (2 * (nodes.size() + 1) > slots->mask + 1) {
    generations.push_back(std::make_unique<Slots>(2 * (slots->mask + 1)));
    slots = generations.back().get();
    for (const Node &node : nodes)
      place(*slots, node);
    current.store(slots, std::memory_order_release);
  }
  nodes.push_back({key, name, std::move(kernel)});
  place(*slots, nodes.back());
  return nodes.back().kernel.get();
}

std::string FrontTable::whyMissing(const FrontKey &key, const char *name,
                                   const std::vector<Parameter> &parameters) const {
  std::lock_guard lock(mutex);
  std::vector<std::string> fewest;
  bool used = false;
  for (const Node &node : nodes) {
    if (node.key.identity() != key.identity() || node.name != name)
      continue;
    std::vector<std::string> reasons = FrontKey::differences(node.key, key, parameters);
    if (!used || reasons.size() <= fewest.size()) // among equals the latest one
      fewest = std::move(reasons);
    used = true;
  }
  return used ? llvm::join(fewest, "; ") : "first use of kernel";
}
