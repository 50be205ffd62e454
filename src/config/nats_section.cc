#include "config/nats_section.h"

#include <chrono>
#include <utility>

#include "config/tls_section.h"
#include "nats/options.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;

void ReadCreateStream(Section section, NatsOptions& nats) {
  constexpr size_t kMaxReplicas = 5;
  constexpr milliseconds kMaxWindow = std::chrono::hours(24 * 7);
  NatsStreamCreation creation =
      nats.create_stream.value_or(NatsStreamCreation());
  section.Read("name", creation.name);
  section.ReadList("subjects", creation.subjects);
  auto replicas = static_cast<size_t>(creation.replicas);
  section.ReadCount("replicas", replicas, 1, kMaxReplicas);
  creation.replicas = static_cast<int>(replicas);
  section.Read("duplicate_window", creation.duplicate_window, milliseconds(100),
               kMaxWindow);
  section.Done();
  if (creation.name.empty() && !creation.subjects.empty()) {
    section.Fail("name", "is missing: the stream needs a name");
  }
  if (!creation.name.empty() && creation.subjects.empty()) {
    section.Fail("subjects",
                 "is missing: what the stream takes, as in "
                 "[outbox.>]");
  }
  if (!creation.name.empty()) nats.create_stream = std::move(creation);
}

}  // namespace

void ReadNats(Section section, NatsOptions& nats) {
  section.ReadTextOrList("servers", nats.servers);
  section.Read("user", nats.user);
  section.ReadSecret("password", nats.password);
  section.ReadSecret("token", nats.token);
  section.Read("credentials_file", nats.credentials_file);
  const bool has_tls_scheme = nats.servers.find("tls://") != std::string::npos;
  ReadTls(section.Child("tls"), HostCheck::kAlways,
          has_tls_scheme ? AddressScheme::kTls : AddressScheme::kPlain,
          nats.tls);
  section.Read("domain", nats.domain);
  section.Read("ack_timeout", nats.ack_timeout, milliseconds(100),
               milliseconds(60'000));
  ReadCreateStream(section.Child("create_stream"), nats);
  section.Done();
}

}  // namespace walpost
