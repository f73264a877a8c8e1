//! The MQSC command language: parse, resolve against attribute tables, print.
