// Asio's own code of TLS, compiled once for all.
#include <boost/asio/ssl/impl/src.hpp>
