// Mastra: the tools of its MCP client, named after the server as well.
import { MCPClient } from '@mastra/mcp';
import { drive } from './driving.mjs';

await drive(async (job) => {
  const [command, ...args] = job.target.command ?? [];
  const server = job.target.url ? { url: new URL(job.target.url) } : { command, args, env: job.target.env };
  const client = new MCPClient({ id: 'zoo', servers: { x: server } });
  const tools = await client.listTools();
  return {
    tools: () => Object.values(tools).map((tool) => [tool.id, tool.description]),
    call: (name, given) => tools[`x_${name}`].execute(given, {}),
    prompts: async () => (await client.prompts.list()).x,
    prompt: (name, given) => client.prompts.get({ serverName: 'x', name, args: given }),
    resources: async () => (await client.resources.list()).x,
    read: (uri) => client.resources.read('x', uri),
    close: () => client.disconnect(),
  };
});
