#include "nats/nats_sinks.h"

#include <string>
#include <string_view>
#include <utility>

#include "nats/known_streams.h"
#include "nats/nats_sink.h"

namespace walpost {
namespace {

SinkFactory SinksWith(boost::asio::any_io_executor executor,
                      NatsOptions options,
                      std::shared_ptr<KnownStreams> known) {
  // A denied subject fails its sink, and the next one meets the same error.
  auto errors = std::make_shared<CauseLog>();
  return [=](const SinkOptions& sink_options, RecordReports& reports,
             std::function<void()> on_drained)
             -> absl::StatusOr<std::unique_ptr<Sink>> {
    NatsOptions own = options;
    own.client_id += sink_options.client_id_suffix;
    own.one_at_a_time = sink_options.one_at_a_time;
    return NatsSink::Create(executor, own, reports, std::move(on_drained),
                            known, errors);
  };
}

class NatsTopicKnowledge final : public TopicKnowledge {
 public:
  NatsTopicKnowledge(boost::asio::any_io_executor executor, NatsOptions options,
                     std::shared_ptr<KnownStreams> whole)
      : executor_(std::move(executor)),
        options_(std::move(options)),
        whole_(std::move(whole)) {}

  SinkFactory Sinks() override { return SinksWith(executor_, options_, own_); }
  // Several topics share a stream, so all streams are exchanged.
  void Exchange() override {
    whole_->Add(*own_);
    own_->Add(*whole_);
  }

 private:
  boost::asio::any_io_executor executor_;
  NatsOptions options_;
  std::shared_ptr<KnownStreams> whole_;
  std::shared_ptr<KnownStreams> own_ = std::make_shared<KnownStreams>();
};

class NatsKnowledge final : public SinkKnowledge {
 public:
  NatsKnowledge(boost::asio::any_io_executor executor, NatsOptions options)
      : executor_(std::move(executor)), options_(std::move(options)) {}

  SinkFactory Sinks() override {
    return SinksWith(executor_, options_, known_);
  }
  std::unique_ptr<TopicKnowledge> Of(std::string) override {
    return std::make_unique<NatsTopicKnowledge>(executor_, options_, known_);
  }

  const std::string& topics() const override { return known_->text(); }
  void SetTopics(std::string_view text) override { known_->Reset(text); }
  const std::string& replaced_topic() const override {
    return known_->replaced();
  }
  void Forget() override { known_->Forget(); }

 private:
  boost::asio::any_io_executor executor_;
  NatsOptions options_;
  // Shared with the sinks, which may be destroyed after it.
  std::shared_ptr<KnownStreams> known_ = std::make_shared<KnownStreams>();
};

}  // namespace

SinkFactory NatsSinks(boost::asio::any_io_executor executor,
                      NatsOptions options) {
  return [executor, options](const SinkOptions& sink_options,
                             RecordReports& reports,
                             std::function<void()> on_drained) {
    const SinkFactory sinks =
        SinksWith(executor, options, std::make_shared<KnownStreams>());
    return sinks(sink_options, reports, std::move(on_drained));
  };
}

std::unique_ptr<SinkKnowledge> MakeNatsKnowledge(
    boost::asio::any_io_executor executor, NatsOptions options) {
  return std::make_unique<NatsKnowledge>(std::move(executor),
                                         std::move(options));
}

}  // namespace walpost
