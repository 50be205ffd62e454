#include "import/settings.h"

#include <algorithm>

namespace walpost {

void Settings::Add(std::string name, std::string key, std::string value) {
  const auto found = std::ranges::find(settings_, name, &Setting::name);
  if (found != settings_.end()) {
    found->key = std::move(key);
    found->value = std::move(value);
    return;
  }
  settings_.push_back({std::move(name), std::move(key), std::move(value)});
}

Setting* Settings::Take(std::string_view name) {
  const auto found = std::ranges::find(settings_, name, &Setting::name);
  if (found == settings_.end()) return nullptr;
  found->is_taken = true;
  return &*found;
}

const Setting* Settings::Find(std::string_view name) const {
  const auto found = std::ranges::find(settings_, name, &Setting::name);
  return found == settings_.end() ? nullptr : &*found;
}

std::optional<std::string> Settings::TakeValue(std::string_view name) {
  const Setting* setting = Take(name);
  if (setting == nullptr) return std::nullopt;
  return setting->value;
}

std::vector<Setting*> Settings::Left() {
  std::vector<Setting*> left;
  for (Setting& setting : settings_) {
    if (!setting.is_taken) left.push_back(&setting);
  }
  return left;
}

std::vector<Setting*> Settings::WithPrefix(std::string_view prefix) {
  std::vector<Setting*> found;
  for (Setting& setting : settings_) {
    if (setting.name.starts_with(prefix)) found.push_back(&setting);
  }
  return found;
}

}  // namespace walpost
