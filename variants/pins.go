//go:build (readbased && rtr) || (readbased && envless) || (readbased && ticket) || (readbased && optimistic) || (readbased && customized) || (readbased && standing) || (rtr && envless) || (rtr && ticket) || (rtr && optimistic) || (rtr && customized) || (rtr && standing) || (envless && ticket) || (envless && optimistic) || (envless && customized) || (envless && standing) || (ticket && optimistic) || (ticket && customized) || (ticket && standing) || (optimistic && customized) || (optimistic && standing) || (customized && standing)

package variants

// A build has one protocol tag or none. This does not compile, to say so.
var _ = two_build_tags_pin_a_protocol__give_only_one_of_readbased_rtr_envless_ticket_optimistic_customized_standing
