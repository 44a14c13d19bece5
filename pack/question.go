package pack

import "github.com/toolhost/toolhost/redact"

// A QuestionKind says what is asked of the host's user.
type QuestionKind string

// The kinds of questions. A host declares each on its own; Host.Asks says which
// it did.
const (
	AskApproval QuestionKind = "approve" // may this call be made?
	AskForm     QuestionKind = "form"    // a server asks for a form to be filled in
	AskURL      QuestionKind = "url"     // a server asks for a page to be visited
	AskOpen     QuestionKind = "open"    // open this URL in the user's browser
)

// A Question is what Host.Ask puts to the host. Which fields count depends on
// the kind; the others are not sent.
type Question struct {
	Kind   QuestionKind
	Invoke Raw    // Call.ID of the call that waits; only AskOpen may have none
	Run    string // Call.Run of that call
	Server string // who asks

	// AskApproval
	Tool           *Tool
	DefinitionHash string   // changes with the tool's definition and its server's entry
	Changed        []string // asked again: the members of the definition that have changed meanwhile
	Arguments      Raw      // an object

	// AskForm, AskURL
	Message string // the server's words
	Schema  Raw    // AskForm: the form, as a JSON Schema
	Problem string // AskForm: what was wrong with the answer before; "" when there was none

	// AskURL, AskOpen
	URL      string
	Warnings []string // AskURL: why its host may be mistaken for another
	Purpose  string   // AskOpen: "sign-in" or "elicitation"
}

// An Action is what became of a Question.
type Action string

// The actions. Approved and opened count as accepted.
const (
	Accept  Action = "accept"
	Decline Action = "decline" // the user said no, or the host does not take such questions
	Cancel  Action = "cancel"  // nobody chose: dismissed, failed, or no answer in time
)

// An Answer is the host's answer to a Question.
type Answer struct {
	Action   Action
	Reason   string        // AskApproval: why not, for the model to read
	Content  Raw           // AskForm: the form filled in, an object; nil unless accepted
	Callback redact.Secret // AskOpen: the callback URL that the user pasted, if any
}
