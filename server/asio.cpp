// The one place where Boost.Asio's own functions are compiled.
#include <utility>

#include <boost/asio/impl/src.hpp>
