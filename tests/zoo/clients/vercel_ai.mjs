// Vercel's AI SDK: the tools of an MCP client, as `generateText` would call them.
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as Stdio } from '@ai-sdk/mcp/mcp-stdio';
import { drive } from './driving.mjs';

await drive(async (job) => {
  const [command, ...args] = job.target.command ?? [];
  const transport = job.target.url
    ? { type: 'http', url: job.target.url }
    : new Stdio({ command, args, env: job.target.env });
  const client = await createMCPClient({ transport });
  const tools = await client.tools();
  return {
    tools: () => Object.entries(tools).map(([name, tool]) => [name, tool.description, tool.inputSchema?.jsonSchema]),
    call: (name, given) => tools[name].execute(given, { toolCallId: '1', messages: [] }),
    prompts: async () => (await client.listPrompts()).prompts,
    prompt: (name, given) => client.getPrompt({ name, arguments: given }),
    resources: async () => (await client.listResources()).resources,
    read: (uri) => client.readResource({ uri }),
    close: () => client.close(),
  };
});
