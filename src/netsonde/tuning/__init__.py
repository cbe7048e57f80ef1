"""What makes programs faster: settings searched by measuring, proven and written down."""
