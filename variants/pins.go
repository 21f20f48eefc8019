//go:build (readbased && rtr) || (readbased && envless) || (readbased && ticket) || (readbased && optimistic) || (readbased && customized) || (rtr && envless) || (rtr && ticket) || (rtr && optimistic) || (rtr && customized) || (envless && ticket) || (envless && optimistic) || (envless && customized) || (ticket && optimistic) || (ticket && customized) || (optimistic && customized)

package variants

// A build has one protocol tag or none. This does not compile, to say so.
var _ = two_build_tags_pin_a_protocol__give_only_one_of_readbased_rtr_envless_ticket_optimistic_customized
