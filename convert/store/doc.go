// Package store sends profiles to a store of profiles and asks it for them.
//
// The store is Grafana Pyroscope, or whatever has its API: unary calls of the Connect
// protocol (https://connectrpc.com/docs/protocol), messages of protocol buffers
// (github.com/grafana/pyroscope/api: push/v1, querier/v1, types/v1). There are five of
// them and they have few fields, so that they are written here, rather than ten megabytes
// of generated code and what it needs linked into each program.
//
// A receiver of OpenTelemetry takes profiles too (OTLP), and answers no questions.
//
//	Set ──► Pieces: one event each, within the store's limits ──► Sender ──► Client
//	                                                                │ ▲
//	                                                                ▼ │ what could not be sent
//	                                                               Spool
//
// What is sent arrives at least once, or is counted: a push that was answered by nothing,
// or by an error that may pass, is sent again.
package store
