// An MPI function in its three forms, from one list of arguments: blocking, begun and waited for,
// persistent. Persistent forms came with MPI 4: an MPI library of version 3.1 has none, and a
// program that names them would not start with it, so they are looked up when they are asked for.
#pragma once

#include <mpi.h>

#include <tuple>

#include "collective/context.hpp"

namespace sonde::collective {

template <class Function>
struct PersistentForm;

template <class... Arguments>
struct PersistentForm<int (*)(Arguments...)> {
    using type = int (*)(Arguments..., MPI_Info, MPI_Request*);
};

// `arguments` takes a Context& and returns the tuple of the function's arguments.
template <auto function, auto arguments>
int blocking(Context& context) {
    return std::apply(function, arguments(context));
}

template <auto function, auto arguments>
int begin(Context& context) {
    return std::apply(function, std::tuple_cat(arguments(context), std::tuple(&context.request)));
}

template <auto function, auto arguments>
int started(Context& context) {
    const int status = begin<function, arguments>(context);
    return status == MPI_SUCCESS ? MPI_Wait(&context.request, MPI_STATUS_IGNORE) : status;
}

// `function` is that of the blocking form.
template <auto function, auto arguments>
int make_persistent(Context& context, void* found) {
    using Persistent = typename PersistentForm<decltype(function)>::type;
    return std::apply(
        reinterpret_cast<Persistent>(found),
        std::tuple_cat(arguments(context), std::tuple(MPI_INFO_NULL, &context.request)));
}

} // namespace sonde::collective
