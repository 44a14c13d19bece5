package mcptools

import "github.com/toolhost/toolhost/pack"

// The methods of this file are no part of the contract: a program that shows people
// how their servers do finds them by a type assertion. None of them waits, and what
// they return is safe to show.

// Servers returns the state of each server now, in the order of the configuration.
func (p *mcptools) Servers() []pack.ServerStatus { return p.catalog.Load().statuses }

// Warnings returns what is odd about the entries that were taken, by server.
func (p *mcptools) Warnings() map[string][]string {
	odd := map[string][]string{}
	for _, s := range p.servers {
		if s.entry == nil {
			continue
		}
		for _, warning := range s.entry.Warnings {
			odd[s.name] = append(odd[s.name], p.host.Scrub.Text(warning))
		}
	}
	return odd
}

// Missing returns why a model does not get all that a server offers, by server.
func (p *mcptools) Missing() map[string][]string {
	missing := map[string][]string{}
	for _, s := range p.servers {
		st := s.now()
		if st.listing == nil {
			continue
		}
		missing[s.name] = append(missing[s.name], st.listing.Notes...)
		if st.stale != "" {
			missing[s.name] = append(missing[s.name], "the list of tools may be out of date: listing again failed: "+st.stale)
		}
	}
	for _, c := range p.catalog.Load().clashes {
		missing[c.server] = append(missing[c.server], c.text)
	}
	return missing
}
