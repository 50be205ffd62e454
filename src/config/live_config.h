// LiveConfig: the configuration of a running process. It takes up changes of
// the file without a restart for log.* and the credentials of both ends
// (SIGHUP).
//
//   LiveConfig live(config);
//   Relay::Create(executor, live.config());   // copies the texts
//   ...
//   live.TakeUp(fresh);                       // the copies read the fresh ones
//
// Changed on one thread. The texts that it hands out may outlive it, and be
// read on any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"

namespace walpost {

class LiveConfig {
 public:
  explicit LiveConfig(Config config);

  const Config& config() const { return config_; }

  // Keys as in docs/configuration.md; "(new contents)" behind one whose
  // references (${file:PATH}) stand for something else than before.
  struct Changes {
    std::vector<std::string> taken_up;
    std::vector<std::string> need_restart;
  };
  // For connections, only credentials are taken up: another host or user needs
  // a restart, because sessions of two servers must not mix.
  Changes TakeUp(const Config& fresh);

 private:
  // The present value of a text of config_; connecting threads read it, too.
  class Cell {
   public:
    explicit Cell(ReloadableText text) : text_(std::move(text)) {}
    ReloadableText Get() const {
      const std::lock_guard lock(mutex_);
      return text_;
    }
    void Set(ReloadableText text) {
      const std::lock_guard lock(mutex_);
      text_ = std::move(text);
    }

   private:
    mutable std::mutex mutex_;
    ReloadableText text_;
  };
  using SharedCell = std::shared_ptr<Cell>;
  static SharedCell Wrap(ReloadableText& text);

  void TakeUpConninfo(const Config& fresh, Changes& changes);
  void TakeUpCredentials(Config fresh, Changes& changes);
  void TakeUpProperties(const Config& fresh, Changes& changes);

  Config config_;
  SharedCell conninfo_;
  std::map<std::string, SharedCell> properties_;   // only credentials
  std::map<std::string, SharedCell> credentials_;  // SinkCredentials
};

}  // namespace walpost
