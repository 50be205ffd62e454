// KeyVisitor: what can be done with every key of the configuration.
//
// keys.h walks the keys, once, for all visitors: the reader fills a Config
// from YAML, the printer writes one as YAML, the key list remembers the names.
// A key that is added there is parsed, printed and suggested.
//
// A visitor lives for one walk. The names given to it are literals.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "outbox/options.h"

namespace walpost {

template <typename T>
struct Range {  // both ends are in it
  T least;
  T most;
};

struct TextRule {
  // Says what is wrong with a value, or puts it into its usual form. The
  // message is the problem alone: the reader adds place and key.
  absl::Status (*check)(std::string& value) = nullptr;
  // The value without its secrets; nullptr when it never holds any. A value
  // that may hold some is not quoted in messages.
  std::string (*hide_secrets)(const std::string& value) = nullptr;
};

struct PairsRule {
  TextRule value;
  // Whether the value of that name is a secret as a whole; nullptr: never.
  bool (*is_secret)(std::string_view name) = nullptr;
};

enum class SourceRule {
  kAny,           // a column, a constant or null
  kConstantOnly,  // there are no columns to read from
  kFixed,         // the field has its source already
};

class KeyVisitor {
 public:
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  using Milliseconds = std::chrono::milliseconds;

  virtual ~KeyVisitor() = default;

  virtual void Section(std::string_view name,
                       absl::FunctionRef<void()> keys) = 0;
  virtual void Text(std::string_view name, std::string& value,
                    const TextRule& rule) = 0;
  virtual void Flag(std::string_view name, bool& value) = 0;
  virtual void Count(std::string_view name, size_t& value,
                     Range<size_t> range) = 0;
  virtual void Size(std::string_view name, size_t& bytes,
                    Range<size_t> range) = 0;
  virtual void Duration(std::string_view name, Milliseconds& value,
                        Range<Milliseconds> range) = 0;
  // One of `words`; `index` is its place among them.
  virtual void Word(std::string_view name, size_t& index,
                    std::span<const std::string_view> words) = 0;
  virtual void Texts(std::string_view name,
                     std::vector<std::string>& values) = 0;
  // A map whose keys are not ours, in order.
  virtual void PairsOf(std::string_view name, Pairs& pairs,
                       const PairsRule& rule) = 0;
  virtual void Source(std::string_view name, FieldSource& source,
                      SourceRule rule) = 0;
  // A list of sections; `keys` walks the keys of one.
  virtual void Tables(std::string_view name, std::vector<TableOptions>& tables,
                      absl::FunctionRef<void(TableOptions&)> keys) = 0;

  // An enum whose values count from 0 in the order of `words`.
  template <typename Enum>
  void Choice(std::string_view name, Enum& value,
              std::span<const std::string_view> words) {
    size_t index = static_cast<size_t>(value);
    Word(name, index, words);
    value = static_cast<Enum>(index);
  }
};

}  // namespace walpost
