// The official Go SDK. driving.py describes what a driver does; this is the same in Go.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type object = map[string]any

type job struct {
	Target struct {
		URL     string            `json:"url"`
		Command []string          `json:"command"`
		Env     map[string]string `json:"env"`
	} `json:"target"`
	Prefix string `json:"prefix"`
	Silent bool   `json:"silent"`
}

type call struct {
	step, tool string
	arguments  object
}

var calls = []call{
	{"call", "echo", object{"message": "Zoë says ☃"}},
	{"call, numbers", "get-sum", object{"a": 19, "b": 23.5}},
	{"call, structured", "get-structured-content", object{"location": "Chicago"}},
	{"call, image", "get-tiny-image", object{}},
	{"call, links", "get-resource-links", object{"count": 3}},
	{"call, wrong arguments", "get-sum", object{"a": "nineteen", "b": 1}},
	{"question: elicitation", "trigger-elicitation-request", object{}},
	{"question: sampling", "trigger-sampling-request", object{"prompt": "6 times 7?", "maxTokens": 20}},
	{"question: roots", "get-roots-list", object{}},
}

func main() {
	var given job
	if err := json.Unmarshal([]byte(os.Args[1]), &given); err != nil {
		panic(err)
	}
	seen := object{}
	if err := drive(context.Background(), given, seen); err != nil {
		seen["connection"] = object{"raised": err.Error()}
	}
	said, _ := json.Marshal(object{"seen": seen})
	fmt.Printf("\n%s\n", said)
}

func drive(ctx context.Context, given job, seen object) error {
	options := &mcp.ClientOptions{}
	if !given.Silent {
		options.CreateMessageHandler = func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "zoo", Content: &mcp.TextContent{Text: "forty-two"}}, nil
		}
		options.ElicitationHandler = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: object{"name": "Ada"}}, nil
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "zoo-go", Version: "1"}, options)
	if !given.Silent {
		client.AddRoots(&mcp.Root{URI: "file:///zoo/root", Name: "root"})
	}
	session, err := client.Connect(ctx, transport(given), nil)
	if err != nil {
		return err
	}
	defer session.Close()
	tools, err := session.ListTools(ctx, nil)
	note(seen, "tools", listed(func() any { return tools.Tools }, err), err)
	for _, each := range calls {
		if given.Silent && each.step != "call" {
			continue
		}
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: given.Prefix + each.tool, Arguments: each.arguments})
		note(seen, each.step, result, err)
	}
	if given.Silent {
		return nil
	}
	prompts, err := session.ListPrompts(ctx, nil)
	note(seen, "prompts", listed(func() any { return prompts.Prompts }, err), err)
	prompt, err := session.GetPrompt(ctx, &mcp.GetPromptParams{
		Name: given.Prefix + "args-prompt", Arguments: map[string]string{"city": "Paris"},
	})
	note(seen, "prompt", prompt, err)
	resources, err := session.ListResources(ctx, nil)
	note(seen, "resources", listed(func() any { return resources.Resources }, err), err)
	resource, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "demo://resource/static/document/architecture.md"})
	note(seen, "resource", resource, err)
	return nil
}

func transport(given job) mcp.Transport {
	if given.Target.URL != "" {
		return &mcp.StreamableClientTransport{Endpoint: given.Target.URL, HTTPClient: http.DefaultClient}
	}
	command := exec.Command(given.Target.Command[0], given.Target.Command[1:]...)
	for name, value := range given.Target.Env {
		command.Env = append(command.Env, name+"="+value)
	}
	return &mcp.CommandTransport{Command: command}
}

func listed(get func() any, err error) any {
	if err != nil {
		return nil
	}
	return get()
}

func note(seen object, step string, value any, err error) {
	if err != nil {
		seen[step] = object{"raised": err.Error()}
		return
	}
	seen[step] = value
}
