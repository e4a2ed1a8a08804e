// LangChain's MCP adapters for JavaScript.
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { drive } from './driving.mjs';

await drive(async (job) => {
  const [command, ...args] = job.target.command ?? [];
  const server = job.target.url
    ? { transport: 'http', url: job.target.url, automaticSSEFallback: false }
    : { transport: 'stdio', command, args, env: job.target.env };
  const client = new MultiServerMCPClient({ mcpServers: { x: server }, useStandardContentBlocks: true });
  const tools = await client.getTools();
  return {
    tools: () => tools.map((tool) => [tool.name, tool.description, tool.schema]),
    call: async (name, given) => {
      const message = await tools
        .find((tool) => tool.name === name)
        .invoke({ type: 'tool_call', id: '1', name, args: given });
      return [message.content, message.artifact];
    },
    close: () => client.close(),
  };
});
