// Settings: those of a connector, each of which must be accounted for.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace walpost {

struct Setting {
  std::string name;  // as the documentation of Debezium and Kafka has it
  std::string key;   // as the file has it
  std::string value;
  bool is_taken = false;
};

class Settings {
 public:
  // The later of two settings with one name counts.
  void Add(std::string name, std::string key, std::string value);

  // nullptr: there is none. Both mark it as accounted for, Find does not.
  Setting* Take(std::string_view name);
  const Setting* Find(std::string_view name) const;
  std::optional<std::string> TakeValue(std::string_view name);

  // Those that nothing has taken, in the order of the file.
  std::vector<Setting*> Left();
  // Those whose name begins so, taken or not.
  std::vector<Setting*> WithPrefix(std::string_view prefix);

  bool empty() const { return settings_.empty(); }

 private:
  std::deque<Setting> settings_;
};

}  // namespace walpost
