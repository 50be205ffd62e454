// CheckpointTable: a row per slot in a table of the source database.
//
// It fails over with the data, and a restored backup brings along the
// checkpoint of its own time. A session of its own, beside the stream, opened
// when needed and again after every error; it holds no transaction open.
//
// Each Save is a commit, which the stream reads past: the caller must not let
// that alone be a reason for the next one.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "delivery/checkpoint_store.h"
#include "postgres/server_options.h"

namespace walpost {

class CheckpointTable final : public CheckpointStore {
 public:
  // `table` is schema.table; made by the first Load or Save when missing.
  CheckpointTable(boost::asio::any_io_executor executor, ServerOptions server,
                  std::string slot, std::string table);
  // A callback that has not come does not come any more.
  ~CheckpointTable() override;

  // Both answer within 40 s.
  void Load(Loaded done) override;
  // Durable as synchronous_commit = on means it, whatever the default is.
  void Save(const Checkpoint& checkpoint, Saved done) override;

  std::string Name() const override;

 private:
  class Session;

  boost::asio::any_io_executor executor_;
  std::string table_;
  // Shared with the coroutine that is under way, which ends after us.
  std::shared_ptr<Session> session_;
};

}  // namespace walpost
