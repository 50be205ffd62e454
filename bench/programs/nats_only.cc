// The ceiling of NATS JetStream: libnats, publishing asynchronously.
#include <nats/nats.h>

#include "programs/client_only.h"

namespace walpost::bench {
namespace {

void Check(natsStatus status) {
  Require(status == NATS_OK, natsStatus_GetText(status));
}

void Publish(const Arguments& arguments) {
  natsConnection* connection = nullptr;
  jsCtx* stream = nullptr;
  const std::string url =
      fmt::format("nats://{}:{}", arguments.host, arguments.port);
  Check(natsConnection_ConnectTo(&connection, url.c_str()));
  jsOptions options;
  Check(jsOptions_Init(&options));
  options.PublishAsync.MaxPending = kWindow;
  Check(natsConnection_JetStream(&stream, connection, &options));
  for (int64_t n = 0; n < arguments.records; ++n) {
    const std::string value = ValueOf(n);
    natsMsg* message = nullptr;
    Check(natsMsg_Create(&message, kPlace, nullptr, value.data(),
                         static_cast<int>(value.size())));
    Check(natsMsgHeader_Set(message, "Nats-Msg-Id", IdOf(n).c_str()));
    Check(natsMsgHeader_Set(message, "key", KeyOf(n).c_str()));
    Check(js_PublishMsgAsync(stream, &message, nullptr));
    natsMsg_Destroy(message);
  }
  jsPubOptions wait;
  Check(jsPubOptions_Init(&wait));
  wait.MaxWait = 60'000;
  Check(js_PublishAsyncComplete(stream, &wait));
  jsCtx_Destroy(stream);
  natsConnection_Destroy(connection);
}

}  // namespace
}  // namespace walpost::bench

int main(int count, char** words) {
  walpost::bench::Publish(walpost::bench::Parse(count, words));
}
