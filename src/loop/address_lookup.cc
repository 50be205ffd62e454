#include "loop/address_lookup.h"

#include <netdb.h>

#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "loop/blocking_call.h"

namespace walpost {

namespace asio = boost::asio;

HostAddresses LookUpHost(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (error != 0) return {{}, gai_strerror(error)};
  HostAddresses found;
  for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
    if (found.addresses.size() == kMaxAddressesPerHost) break;
    std::array<char, NI_MAXHOST> text;
    if (getnameinfo(a->ai_addr, a->ai_addrlen, text.data(), text.size(),
                    nullptr, 0, NI_NUMERICHOST) == 0) {
      found.addresses.emplace_back(text.data());
    }
  }
  freeaddrinfo(list);
  return found;
}

asio::awaitable<absl::StatusOr<std::vector<asio::ip::address>>> FindAddresses(
    asio::any_io_executor executor, std::string host, MonotonicTime deadline) {
  std::vector<asio::ip::address> addresses;
  boost::system::error_code error;
  addresses.push_back(asio::ip::make_address(host, error));
  if (!error) co_return addresses;
  addresses.clear();
  const std::function<HostAddresses()> look_up = [host] {
    return LookUpHost(host);
  };
  auto call = BlockingCall<HostAddresses>::Start(std::move(executor), look_up);
  if (!call.ok()) co_return call.status();
  const std::optional<HostAddresses> found = co_await (*call)->Wait(deadline);
  if (!found) {
    co_return absl::UnavailableError("the name servers do not answer");
  }
  for (const std::string& text : found->addresses) {
    const asio::ip::address address = asio::ip::make_address(text, error);
    if (!error) addresses.push_back(address);
  }
  if (!addresses.empty()) co_return addresses;
  co_return absl::UnavailableError(found->error.empty() ? "it has no address"
                                                        : found->error);
}

}  // namespace walpost
