//! The machines' door: JSON over HTTP/1.1 on a Unix socket, and with a token on 127.0.0.1. A handler decodes, asks an action,
//! and answers; it knows no more than that.
