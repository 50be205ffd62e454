// CheckpointTable: stores a row per slot in a table of the source database.
//
// It fails over with the data, and a restored backup contains the checkpoint of
// its time. Uses its own session beside the stream, opened when needed and
// again after every error; it holds no transaction open.
//
// Each Save is a commit, and the stream reads past it: the caller must not take
// that alone as a reason for the next Save.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "checkpoint/checkpoint_store.h"
#include "postgres/connect/server_options.h"

namespace walpost {

class CheckpointTable final : public CheckpointStore {
 public:
  // `table` is schema.table; the first Load or Save creates it if missing.
  CheckpointTable(boost::asio::any_io_executor executor, ServerOptions server,
                  std::string slot, std::string table);
  // Callbacks that have not been called yet are never called.
  ~CheckpointTable() override;

  // Both answer within 40 s.
  void Load(Loaded done) override;
  // Durable as with synchronous_commit = on, whatever the default is.
  void Save(const Checkpoint& checkpoint, Saved done) override;

  std::string Name() const override;
  std::string HowToRemove(const Checkpoint& checkpoint) const override;

 private:
  class Session;

  boost::asio::any_io_executor executor_;
  std::string table_;
  // Shared with the pending coroutine, which ends after this object.
  std::shared_ptr<Session> session_;
};

}  // namespace walpost
