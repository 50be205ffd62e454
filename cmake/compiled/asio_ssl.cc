// Asio's TLS, likewise.
#include <boost/asio/ssl/impl/src.hpp>
